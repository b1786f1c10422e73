/** A fact about the gateway that recorded traffic shows. */
export interface Finding {
  /**
   * `differs`: the gateway contradicts the specification. `unlisted`: the gateway accepts or sends a field that the
   * specification does not list. `shown`: the specification shows nothing here, and `text` has the recorded value.
   */
  readonly kind: "differs" | "unlisted" | "shown";
  /** Endpoint, `POST /v1/chat/completions`. */
  readonly endpoint: string;
  /** Model. Empty if unknown. */
  readonly model: string;
  /** Path of the field, and its recorded value or shape. */
  readonly text: string;
  /** Names of the recordings that show it. */
  readonly recordings: readonly string[];
}

/** A finding in one exchange. */
export type Found = Pick<Finding, "kind" | "text">;
