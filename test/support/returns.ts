/** The returns of evicted pods, with a memory that a test can look at and hand on. */
import { Returns } from '../../src/eviction/returns.ts';

export function returnsOf(
  transitionMs: number,
  more: { staticPodEviction?: boolean; strikes?: Map<string, number>; startMs?: number } = {},
): Returns {
  const { staticPodEviction = true, strikes = new Map<string, number>(), startMs = 0 } = more;
  return new Returns({
    ...{ transitionMs, staticPodEviction, startMs },
    memory: {
      all: () => strikes,
      put: (uid, count) => void strikes.set(uid, count),
      delete: (uid) => void strikes.delete(uid),
    },
  });
}
