/**
 * Owns: `islet run` and `islet up`: the agent as a process: signals, exit status, and what a start
 * that cannot succeed prints (one line a fault, never a stack trace).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Agent } from '../agent.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/model.ts';
import { BUSYBOX_IMAGE } from '../image/busybox.ts';
import { protectSelf, tuneKernel } from '../runtime/kernel-tunables.ts';
import { lockRootDir } from '../store/lock.ts';
import { aborted } from '../util/abort.ts';
import { SystemClock, systemRandom } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import { createLogger } from '../util/log.ts';
import type { Logger } from '../util/log.ts';
import { processIo } from './process-io.ts';
import { showUntilReady } from './up.ts';

type Parsed = Readonly<Record<string, unknown>>;

const DEBUG_VERBOSITY = 4;
const OOM_SCORE_ADJ = -999;

/** Runs until SIGTERM or SIGINT; the exit status is 0 then, 1 when it could not start. */
export async function runAgent(parsed: Parsed, version: string): Promise<number> {
  const config = configOrComplaint(parsed);
  if (!config) return 1;
  const clock = new SystemClock();
  const stopped = stopSignal();
  sayWarnings(loggerOf(config, clock));
  const agent = await started(config, () => {
    const logger = loggerOf(config, clock);
    setKernel(config, logger);
    return new Agent({ config, version, clock, random: systemRandom, logger, localImages: [] });
  });
  if (!agent) return 1;
  await stopped;
  await stopPods(agent, config);
  await agent.stop();
  return 0;
}

/** @throws IsletError `invalid` when the kernel is set otherwise and is not to be touched. */
function setKernel({ kubelet }: Config, logger: Logger): void {
  const refused = tuneKernel({ protect: kubelet.protectKernelDefaults });
  if (refused.length > 0) logger.warn('the kernel cannot be set for pods here', { refused });
  const oomScoreAdj = Number(kubelet.rest.oomScoreAdj ?? OOM_SCORE_ADJ);
  if (!protectSelf(oomScoreAdj)) {
    logger.info('the agent cannot be protected from the out-of-memory killer here', {
      oomScoreAdj,
    });
  }
}

/** Where that is configured; another signal ends it. */
async function stopPods(agent: Agent, { islet }: Config): Promise<void> {
  if (!islet.stopPodsOnExit) return;
  const impatient = new AbortController();
  void stopSignal().then(() => impatient.abort());
  await agent.stopPods(impatient.signal).catch((error: unknown) => {
    if (!impatient.signal.aborted) throw error;
  });
}

/** As `run`, on ./manifests unless told otherwise; shows the pods until they are Ready. */
export async function runUp(parsed: Parsed, version: string): Promise<number> {
  const config = configOrComplaint(upOptions(parsed));
  if (!config) return 1;
  const clock = new SystemClock();
  const io = processIo(config.islet.socketPath, clock);
  const agent = await started(config, () => {
    // The table has the terminal; what goes wrong is still said.
    const level = config.verbosity >= DEBUG_VERBOSITY ? 'debug' : 'warn';
    const logger = createLogger({ sink: process.stderr, level, wall: () => clock.wall() });
    setKernel(config, logger);
    const localImages = [{ name: BUSYBOX_IMAGE, kind: 'busybox' }] as const;
    return new Agent({ config, version, clock, random: systemRandom, logger, localImages });
  });
  if (!agent) return 1;
  const { view } = agent;
  const ready = await showUntilReady(() => ({ pods: view.pods(), files: view.files() }), io);
  if (ready) {
    io.stdout.write(
      `\nAll pods of ${config.kubelet.staticPodPath} are ready. Drop, change or delete manifests there;` +
        ' look with `build/src/main.js get pods` in another terminal. Ctrl-C ends the agent, the pods go on.\n',
    );
    await aborted(io.signal);
  }
  await stopPods(agent, config);
  await agent.stop();
  if (config.islet.stopPodsOnExit) return 0;
  io.stdout.write(
    '\nThe agent has ended, its pods go on. `build/src/main.js down` ends them too.\n',
  );
  return 0;
}

/**
 * Without a configuration: ./manifests, and a containerd of its own, because one that Debian started by
 * itself has no pod network.
 */
function upOptions(parsed: Parsed): Parsed {
  if (parsed['config'] !== undefined) return parsed;
  const named = parsed['containerRuntimeEndpoint'] !== undefined;
  return {
    podManifestPath: path.resolve('manifests'),
    ...(named ? {} : { containerd: 'managed' }),
    ...parsed,
  };
}

/** Ends every pod of the root directory and its containerd: an agent that wants no pod, until none is left. */
export async function runDown(parsed: Parsed, version: string): Promise<number> {
  const given = configOrComplaint({ podManifestPath: '/', ...parsed });
  if (!given) return 1;
  const nothing = mkdtempSync(path.join(os.tmpdir(), 'islet-down-'));
  const kubelet = { ...given.kubelet, staticPodPath: nothing, readOnlyPort: 0, healthzPort: 0 };
  const config = { ...given, kubelet };
  const clock = new SystemClock();
  const io = processIo(config.islet.socketPath, clock);
  try {
    const agent = await started(config, () => {
      const logger = loggerOf(config, clock);
      return new Agent({ config, version, clock, random: systemRandom, logger, localImages: [] });
    });
    if (!agent) return 1;
    await agent.untilEmpty(io.signal).catch(() => undefined);
    // The agent first: to it, a containerd that goes would be a connection that was lost.
    await agent.stop();
    if (!io.signal.aborted) await agent.stopContainerd();
    return io.signal.aborted ? 1 : 0;
  } finally {
    rmSync(nothing, { recursive: true, force: true });
  }
}

/** The configuration, or undefined after its faults were printed. */
export function configOrComplaint(parsed: Parsed): Config | undefined {
  try {
    return loadConfig(parsed);
  } catch (error) {
    return complain(error);
  }
}

/** The running agent, or undefined after it was said why there is none. */
async function started(config: Config, make: () => Agent): Promise<Agent | undefined> {
  let agent: Agent | undefined;
  try {
    await lockRootDir(config.rootDir); // given back by the end of the process
    agent = make();
    await agent.start();
    return agent;
  } catch (error) {
    await agent?.stop();
    return complain(error);
  }
}

/** A fault of the surroundings is one line; anything else is a bug and may look like one. */
function complain(error: unknown): undefined {
  if (!(error instanceof IsletError)) throw error;
  process.stderr.write(`${messageOf(error)}\n`);
  return undefined;
}

function loggerOf(config: Config, clock: SystemClock): Logger {
  const level = config.verbosity >= DEBUG_VERBOSITY ? 'debug' : 'info';
  return createLogger({ sink: process.stderr, level, wall: () => clock.wall() });
}

/** Warnings of Node.js go to the log like everything else. */
function sayWarnings(logger: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => logger.warn('a warning of Node.js', { err: warning }));
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve());
  });
}
