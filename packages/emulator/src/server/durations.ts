/** Fixed durations, whatever the request. */
export interface Durations {
  /** Milliseconds from an image request to its response. */
  readonly imageMs?: number;
  /** Milliseconds from the creation of a video task to its end. */
  readonly videoMs?: number;
}
