import type { StandardSchema } from "@sluice/core";

// imports no code: two files that load later share it, and bundlers would move its imports out of the first file

/** Result of a check: the value, or the problem. */
type Checked<Output> =
  | {
      /** Output of the schema. */
      readonly value: Output;
      /** Absent for a valid value. */
      readonly problem?: undefined;
    }
  | {
      /** All issues in one line. */
      readonly problem: string;
      /** Path of the first issue, `items.0.name`; empty for the value itself. */
      readonly path: string;
    };

/**
 * Checks `value` with a schema of any library.
 */
export async function checkBySchema<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): Promise<Checked<Output>> {
  const result = await schema["~standard"].validate(value);
  if (!result.issues) return result;
  const issues = result.issues.map(({ message, path = [] }) => ({
    message,
    path: path.map((step) => String(typeof step === "object" ? step.key : step)).join("."),
  }));
  return {
    problem: issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; "),
    path: issues[0]?.path ?? "",
  };
}
