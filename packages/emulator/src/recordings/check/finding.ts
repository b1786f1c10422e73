/** One thing that recorded traffic shows about the gateway. */
export interface Finding {
  /**
   * `differs`: the gateway does not do what the specification says. `unlisted`: it takes or sends a field that the
   * specification does not list. `shown`: the specification shows nothing here, and this is what was recorded.
   */
  readonly kind: "differs" | "unlisted" | "shown";
  /** Endpoint, `POST /v1/chat/completions`. */
  readonly endpoint: string;
  /** Model; empty where none is known. */
  readonly model: string;
  /** Path of the field and what was found there. */
  readonly text: string;
  /** Names of the recordings that show it. */
  readonly recordings: readonly string[];
}

/** A finding of one exchange. */
export type Found = Pick<Finding, "kind" | "text">;
