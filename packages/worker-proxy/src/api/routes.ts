import type { Address, Body, CheckRules } from "../checks/fields.js";
import type { IdRules } from "../checks/ids.js";
import type { Gateway } from "./options.js";

/** The kind of thing that an id names. The mark of one does not fit the other. */
export type IdKind = "task" | "asset" | "epsilon";

/** The name of a group of routes of the gateway: the part of the spec with the same name. */
export type GatewayRoute = "chat" | "images" | "videos" | "assets" | "epsilon";

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
 * Routes of the gateway for `routes` of `createProxy`: `chat`, `images`, `videos`, `assets` or `epsilon`. A group brings the
 * rules of its requests, so that a Worker contains no others.
 */
export interface RouteGroup {
  readonly name: GatewayRoute;
  /** Returns the paths of this gateway. */
  paths(gateway: Gateway): readonly GatewayPath[];
  /** The models of the spec: in each line the id, the largest `max_tokens`, and the fields of its requests. */
  readonly models: string;
  /** Reads the models that a body names. @default the field `model` */
  readModels?(body: Body): readonly [string, ...string[]];
  /** Checks a body by rules of this group alone. @throws {Refusal} */
  checkBody?(body: Body, rules: CheckRules, model: string): void;
  /** Checks the address of a file in a body. @default https addresses and images in Base64 */
  checkAddress?(address: Address, rules: CheckRules): Promise<void>;
  /** The marks that keep the ids of users apart. @default the routes have no ids */
  readonly ids?: IdRules;
}
