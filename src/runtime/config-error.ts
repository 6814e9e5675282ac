/**
 * Owns: the error of a container or sandbox that cannot be described to the runtime. It is a fact
 * about the manifest, so it travels with the reason and text that the pod's status shows.
 */
import { WaitingReason } from '../api/reasons.ts';
import { IsletError } from '../util/errors.ts';

export class ConfigError extends IsletError {
  /** The waiting reason of the container; `message` is the waiting message. */
  readonly reason: WaitingReason;

  constructor(message: string, reason: WaitingReason = WaitingReason.CreateContainerConfigError) {
    super('invalid', message);
    this.name = 'ConfigError';
    this.reason = reason;
  }
}
