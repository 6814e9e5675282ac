/**
 * Owns: name, help and kind of each family of cadvisor-metrics.ts.
 */
interface Family {
  readonly name: string;
  readonly help: string;
  readonly kind: 'counter' | 'gauge';
}

function counter(name: string, help: string): Family {
  return { name: `container_${name}`, help, kind: 'counter' };
}

function gauge(name: string, help: string): Family {
  return { name: `container_${name}`, help, kind: 'gauge' };
}

function machine(name: string, help: string): Family {
  return { name: `machine_${name}`, help, kind: 'gauge' };
}

export const CPU_USAGE = counter('cpu_usage_seconds_total', 'CPU time consumed in seconds.');
export const CPU_USER = counter('cpu_user_seconds_total', 'CPU time in user mode in seconds.');
export const CPU_SYSTEM = counter('cpu_system_seconds_total', 'CPU time in the kernel in seconds.');
export const CFS_PERIODS = counter('cpu_cfs_periods_total', 'Periods of the CPU quota.');
export const CFS_THROTTLED = counter(
  'cpu_cfs_throttled_periods_total',
  'Periods in which the CPU quota was used up.',
);
export const CFS_SECONDS = counter(
  'cpu_cfs_throttled_seconds_total',
  'Time for which the CPU quota held tasks back.',
);

export const MEMORY_USAGE = gauge(
  'memory_usage_bytes',
  'Memory in use, reclaimable or not, in bytes.',
);
export const MEMORY_WORKING_SET = gauge(
  'memory_working_set_bytes',
  'Memory in use without inactive file pages, in bytes.',
);
export const MEMORY_RSS = gauge('memory_rss', 'Anonymous memory in bytes.');
export const MEMORY_CACHE = gauge('memory_cache', 'Page cache in bytes.');
export const MEMORY_MAPPED_FILE = gauge('memory_mapped_file', 'Mapped files in bytes.');
export const MEMORY_SWAP = gauge('memory_swap', 'Swap in use in bytes.');
export const MEMORY_FAILCNT = counter('memory_failcnt', 'How often the memory limit was hit.');
export const MEMORY_MAX = gauge('memory_max_usage_bytes', 'Highest use of memory so far in bytes.');
export const MEMORY_FAILURES = counter('memory_failures_total', 'Page faults.');

export const FS_USAGE = gauge('fs_usage_bytes', 'Bytes of the writable layer.');
export const FS_LIMIT = gauge('fs_limit_bytes', 'Size of the file system of the writable layer.');
export const FS_INODES = gauge('fs_inodes_total', 'Inodes of that file system.');
export const FS_INODES_FREE = gauge('fs_inodes_free', 'Free inodes of that file system.');

export const RX_BYTES = counter('network_receive_bytes_total', 'Bytes received.');
export const RX_PACKETS = counter('network_receive_packets_total', 'Packets received.');
export const RX_ERRORS = counter('network_receive_errors_total', 'Errors while receiving.');
export const RX_DROPPED = counter(
  'network_receive_packets_dropped_total',
  'Packets dropped while receiving.',
);
export const TX_BYTES = counter('network_transmit_bytes_total', 'Bytes sent.');
export const TX_PACKETS = counter('network_transmit_packets_total', 'Packets sent.');
export const TX_ERRORS = counter('network_transmit_errors_total', 'Errors while sending.');
export const TX_DROPPED = counter(
  'network_transmit_packets_dropped_total',
  'Packets dropped while sending.',
);

export const START_TIME = gauge('start_time_seconds', 'Start as seconds since 1970.');
export const LAST_SEEN = gauge('last_seen', 'When it was last measured, as seconds since 1970.');
export const TASKS = gauge('threads', 'Threads in the cgroup.');
export const CPU_SHARES = gauge('spec_cpu_shares', 'CPU shares.');
export const CPU_PERIOD = gauge('spec_cpu_period', 'Period of the CPU quota in microseconds.');
export const CPU_QUOTA = gauge('spec_cpu_quota', 'CPU quota in microseconds for each period.');
export const MEMORY_LIMIT = gauge('spec_memory_limit_bytes', 'Memory limit in bytes; 0 for none.');
export const MEMORY_SWAP_LIMIT = gauge(
  'spec_memory_swap_limit_bytes',
  'Swap limit in bytes; 0 for none.',
);

export const CORES = machine('cpu_cores', 'Number of logical CPU cores.');
export const MACHINE_MEMORY = machine('memory_bytes', 'Memory of the machine in bytes.');
export const MACHINE_SWAP = machine('swap_bytes', 'Swap space of the machine in bytes.');

type Resource = 'cpu' | 'memory' | 'io';

export function waiting(resource: Resource): Family {
  const help = `Time in which some tasks waited for ${resource}, in seconds.`;
  return counter(`pressure_${resource}_waiting_seconds_total`, help);
}

export function stalled(resource: Resource): Family {
  const help = `Time in which all tasks waited for ${resource}, in seconds.`;
  return counter(`pressure_${resource}_stalled_seconds_total`, help);
}
