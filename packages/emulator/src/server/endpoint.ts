import type { EmulatorClock } from "../base/clock.js";
import type { FetchMedia } from "./fetch-media.js";
import type { Refuse, TakeFailure } from "./refusals.js";
import type { EmulatorState } from "./state.js";

/** Options that the endpoints share. */
export interface EndpointOptions {
  readonly state: EmulatorState | undefined;
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly refuse: Refuse;
  readonly takeFailure: TakeFailure;
  readonly fetchMedia: FetchMedia | undefined;
}
