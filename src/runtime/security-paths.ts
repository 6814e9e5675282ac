/**
 * Owns: the paths of /proc and /sys that containers do not see, or only read (spec cri-mapping.md §5).
 */
const MASKED = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];

const READONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** `Unmasked` shows everything; any other value of `procMount` is the default. */
export function maskedPaths(procMount: string | undefined, thermal: readonly string[]): string[] {
  return procMount === 'Unmasked' ? [] : [...MASKED, ...thermal];
}

export function readonlyPaths(procMount: string | undefined): string[] {
  return procMount === 'Unmasked' ? [] : [...READONLY];
}
