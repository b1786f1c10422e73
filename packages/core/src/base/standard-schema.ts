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
