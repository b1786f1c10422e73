import type { RouteName } from "../routes.js";

/** A plain value: any, the address of a file, that of a file or of an asset, or JSON of any form. */
export type Kind = "value" | "file" | "asset" | "json";

/** A field of the spec: a plain value, a list, or an object by its names; `""` is the plain value that may stand for it. */
export type SpecField = Kind | readonly [SpecField] | { readonly [name: string]: SpecField };

/** A model of the spec, as `scripts/spec-models.ts` writes it. */
export interface SpecModel {
  readonly route: RouteName;
  /** The largest `max_tokens`. */
  readonly maxTokens?: number;
  /** True where a stream has its usage only if it is asked for. */
  readonly usageOnRequest?: boolean;
  readonly fields: SpecField;
}
