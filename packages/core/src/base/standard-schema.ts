// imports nothing: two files that load later share it, and bundlers would move its imports out of the first file

/** A schema of any library that follows the Standard Schema specification: valibot, zod, arktype and others. */
export interface StandardSchema<Output = unknown> {
  /** The properties that all these libraries share. */
  readonly "~standard": {
    /** Version of the specification. */
    readonly version: 1;
    /** Name of the library. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Types of the schema, for the compiler. */
    readonly types?:
      | {
          /** Type of a value before the check. */
          readonly input: unknown;
          /** Type of a value after the check. */
          readonly output: Output;
        }
      | undefined;
    /** The schema as JSON Schema, if the library can export it. */
    readonly jsonSchema?: {
      /** Returns the JSON Schema of values before the check. */
      readonly input: (options: {
        /** Version of JSON Schema: `"draft-07"`. */
        target: string;
      }) => Record<string, unknown> | Promise<Record<string, unknown>>;
    };
  };
}

type SchemaResult<Output> =
  | {
      /** The checked value. */
      readonly value: Output;
      /** Absent for a valid value. */
      readonly issues?: undefined;
    }
  | {
      /** The broken rules. */
      readonly issues: readonly SchemaIssue[];
    };

interface SchemaIssue {
  /** Description of the problem. */
  readonly message: string;
  /** Keys from the value to the invalid part. */
  readonly path?:
    | readonly (
        | PropertyKey
        | {
            /** Name of a property, or index of an item. */
            readonly key: PropertyKey;
          }
      )[]
    | undefined;
}

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
 *
 * @example
 * ```ts
 * const { problem } = await checkBySchema(zodSchema, { city: 7 });
 * if (problem) throw new Error(`the place is not valid: ${problem}`);
 * ```
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
