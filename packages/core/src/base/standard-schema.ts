/** A schema of any library that speaks Standard Schema: valibot, zod, arktype and others. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** How the schema is written as JSON Schema, where the library says so itself. */
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> };
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

interface PathIssue {
  /** `items.0.name`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** What a value is by a schema, or where it does not fit. */
export type Checked<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly PathIssue[] };

/** Checks `value`. */
export async function checkBySchema<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): Promise<Checked<Output>> {
  const result = await schema["~standard"].validate(value);
  if (!result.issues) return result;
  return {
    issues: result.issues.map(({ message, path = [] }) => ({
      message,
      path: path.map((step) => String(typeof step === "object" ? step.key : step)).join("."),
    })),
  };
}

/** All issues in one line. */
export function issuesText(issues: readonly PathIssue[]): string {
  return issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; ");
}
