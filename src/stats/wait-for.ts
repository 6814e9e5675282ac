/**
 * Owns: waiting for work that is shared: who gives up stops waiting, the work goes on for the others.
 */

/** What `work` gives, or the signal's reason when it aborts first. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const done = (): void => signal.removeEventListener('abort', onAbort);
    work.then(resolve, reject).finally(done);
  });
}

/** `map` over items, a few at a time; results in the order of the items. */
export async function mapSome<T, R>(
  items: readonly T[],
  atOnce: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await map(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
