#!/usr/bin/env -S node --max-semi-space-size=2 --optimize-for-size
// The flags keep V8's young generation small: the relist fills it for ever, and on its own it grows to
// twice the memory of the whole agent. They only work on the command line, hence in this line.
import { runProgram } from './cli/program.ts';

process.exitCode = await runProgram(process.argv);
