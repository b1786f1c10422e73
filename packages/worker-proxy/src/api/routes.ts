import type { Caps, Gateway, MediaURLs } from "./options.js";
import type { AdmittedRequest, User } from "./plugin.js";

/** The kind of an id. The signature of an id is valid for one kind only. */
export type IdKind = "task" | "asset" | "epsilon";

/** The name of a group of routes of the gateway: the part of the spec with the same name. */
type GatewayRoute = "chat" | "images" | "videos" | "assets" | "epsilon";

/** A group of routes: of the gateway, or the `name` of the routes of a plugin. */
export type RouteName = GatewayRoute | "health" | (string & {});

/** A request of the spec: its method and constant path, and the kind of the ids in its path and its response. */
export interface GatewayPath {
  readonly method: "GET" | "POST";
  /** `{id}` stands for an id, the only part of a path that varies. */
  readonly path: string;
  readonly ids?: IdKind;
  /** The body names an asset, and no model. */
  readonly isLookup?: boolean;
}

/**
 * Routes of the gateway for `routes` of `createProxy`: `textChat`, `chat`, `images`, `videos`, `assets` or `epsilon`. Each group is an import
 * with the rules of its requests, so a Worker contains only the rules that it uses.
 */
export interface RouteGroup {
  readonly name: GatewayRoute;
  /** Returns the paths of this gateway. */
  paths(gateway: Gateway): readonly GatewayPath[];
  /** The rules of the models of the spec, as JSON; under `""` the rules of all other models. */
  readonly models: string;
  /** Reads the models that a body names. @default the field `model` */
  readModels?(body: Body): readonly [string, ...string[]];
  /** Checks a body by rules of this group alone. @throws {Refusal} */
  checkBody?(body: Body, rules: CheckRules, model: string): void;
  /** Checks and sets the fields of a body that have a cap. @default only `max_tokens` can have one */
  applyCaps?(body: Body, fields: Shape, caps: Caps): void;
  /**
   * Checks the address of a file in a body. Returns false for a file in Base64, which has no address.
   * @default an address is refused
   */
  checkAddress?(address: Address, rules: CheckRules): Promise<boolean>;
  /** The signatures that keep the ids of users apart. @default the routes have no ids */
  readonly ids?: IdRules;
}

/**
 * The form of a field. A text is the kind of a plain value: `""` any, `"file"` the address of a file, `"asset"` the
 * address of a file or an asset, `"json"` JSON of any form, `"free"` anything, because the operator allows it. A list has
 * the form of its entries. An object has its fields, and under `""` the kind of a plain value in its place.
 */
export type Shape = string | readonly [Shape] | { readonly [name: string]: Shape };

/** A JSON object. */
export type Body = Record<string, unknown>;

/** The address of a file or of an asset in a body. */
export interface Address {
  /** The object or the list that has the address. */
  readonly owner: Record<string | number, unknown>;
  readonly name: string | number;
  /** `input.media.url`. */
  readonly path: string;
  /** True if the field may name an asset. */
  readonly takesAssets: boolean;
}

/** The models that the operator lists, each with its caps. */
export type ListedModels = ReadonlyMap<string, Caps>;

/** The rules of the operator for the values of a body. */
export interface CheckRules {
  readonly models: ListedModels;
  readonly mediaURLs: MediaURLs;
  readonly limits: { readonly maxDataURIBytes: number };
  /** The marks of this user's ids; undefined if all callers are one user, and for routes without ids. */
  readonly tenancy: Tenancy | undefined;
}

/** Separates the users of one key: an id leaves the proxy with the mark of its user. */
export interface Tenancy {
  /** Adds the user's mark to an id of the gateway. */
  sign(kind: IdKind, id: string): Promise<string>;
  /** Returns the gateway's id; undefined for an id with another mark. */
  verify(kind: IdKind, signed: string): Promise<string | undefined>;
}

/** An id of the gateway, and the same id with the mark of its user, as the user knows it. */
export interface MarkedId {
  readonly id: string;
  readonly signedId: string;
}

/** Signs and verifies the ids of a group of routes. */
export interface IdRules {
  createTenancy(secrets: readonly string[], user: User): Tenancy;
  /** Returns the id that a path or the body of a lookup names. @throws {Refusal} 404 for an id of another user */
  verify(tenancy: Tenancy | undefined, kind: IdKind, sent: string | Body): Promise<MarkedId>;
  /** Reads the id of a response, and marks it for its user. Undefined for a response without an id. */
  mark(
    json: unknown,
    kind: IdKind,
    admitted: Pick<AdmittedRequest, "id" | "signedId">,
    tenancy: Tenancy | undefined,
  ): Promise<MarkedId | undefined>;
}
