import type { RequestOptions } from "@sluice/core";

/** Options of both tools. Headers, timeouts and retry apply to each request. */
export interface MediaToolOptions extends Omit<RequestOptions, "signal" | "idempotencyKey"> {
  /** Name of the tool for the model: 1 to 64 letters, digits, `_` and `-`. */
  readonly name?: string;
  /** Description for the model: what the tool does and when to call it. */
  readonly description?: string;
  /**
   * True if the user must approve each call, as in `defineTool`: each call is billed. A function gets the arguments as
   * the model wrote them.
   *
   * @default false
   */
  readonly needsApproval?: boolean | ((input: unknown) => boolean | Promise<boolean>);
}

/** Creates the JSON Schema of the arguments, without the fields that the app sets. */
export function createInputSchema(
  fields: Readonly<Record<string, object | undefined>>,
  appFields: object,
): Record<string, unknown> {
  const properties = Object.entries(fields).filter(([name, field]) => field && !(name in appFields));
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: ["prompt"],
    additionalProperties: false,
  };
}
