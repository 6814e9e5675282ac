/**
 * Owns: the choice between a containerd of our own and one that somebody else runs
 * (`--containerd=managed|external|auto`).
 * Invariant: an endpoint that somebody named is never replaced by one of our own.
 */
export type ChosenMode = 'managed' | 'external';

export interface ModeFacts {
  readonly mode: 'auto' | 'managed' | 'external';
  /** A flag or the configuration file names the runtime's endpoint. */
  readonly endpointSet: boolean;
}

/**
 * `auto` is external when an endpoint was named or a CRI runtime answers on the default one, else
 * managed. `answers` is asked only when it matters.
 */
export async function chooseMode(
  facts: ModeFacts,
  answers: () => Promise<boolean>,
): Promise<ChosenMode> {
  switch (facts.mode) {
    case 'managed':
    case 'external':
      return facts.mode;
    case 'auto':
      if (facts.endpointSet) return 'external';
      return (await answers().catch(() => false)) ? 'external' : 'managed';
  }
}
