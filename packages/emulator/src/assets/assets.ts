import { checkRequest } from "@sluice/core/schemas";
import type { FileEndpointOptions } from "../files/files.js";
import { type Checked, parseBody, validate } from "../server/check.js";
import { cut } from "../server/cut.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { respondJSON } from "../server/failure-mode.js";
import { faultTables } from "../server/fault-tables.js";
import { readFaults } from "../server/faults.js";
import { hash } from "../server/hash.js";
import { createBadRequest, createJSON, createUnknownId, type HandlerResponse } from "../server/http.js";
import { createCounter } from "../server/state.js";

/** Status of an asset. `Processing` is an assumption: the spec shows only the final values (spec, Asset states). */
export type AssetStatus = "Processing" | "Active" | "Failed";

interface Asset {
  readonly name: string;
  readonly readyAt: number;
  readonly fails: boolean;
}

/** An asset is ready after the minimum, and a part of the spread that its request decides. */
const MIN_MS = 6000;
const SPREAD_MS = 3000;
const SLOW_MS = 60_000;
const URL_LIFETIME_MS = 3_600_000;
const MAX_ASSETS = 2000;
const MAX_NAME_CHARACTERS = 200;

/**
 * Creates `POST /gamma/asset/CreateAsset`, and `GetAsset` as an example of the lookup, which the spec does not show.
 */
export function createAssets({ state, clock, speed, refuse, takeFailure, files }: FileEndpointOptions) {
  const assets = createExpiringMap<Asset>({
    clock,
    maxEntries: MAX_ASSETS,
    state,
    name: "assets",
  });
  const count = createCounter(state, "assets");
  return { handleCreate, handleLookup, getStatus, clear };

  async function handleCreate(exchange: Exchange): Promise<HandlerResponse> {
    const checked = checkAsset(exchange);
    if ("refusal" in checked) return checked.refusal;
    const faults = readFaults(checked.body.Name, faultTables.assets, exchange.scripted?.faults);
    const refusal = refuse(faults, exchange);
    if (refusal) return refusal;

    const digest = hash(exchange.text);
    const id = `asset-${digest}-${count.next()}`;
    const usualMs = MIN_MS + (Number.parseInt(digest.slice(0, 6), 16) % SPREAD_MS);
    const readyAt = clock.now() + (faults.names.has("slow") ? SLOW_MS : usualMs) / speed;
    assets.set(id, { name: cut(faults.text, MAX_NAME_CHARACTERS), readyAt, fails: faults.names.has("fail") });
    return respondJSON({ Id: id }, takeFailure(faults, exchange), exchange.request.signal);
  }

  function handleLookup(exchange: Exchange): HandlerResponse {
    const parsed = parseBody(exchange);
    if ("refusal" in parsed) return parsed.refusal;
    const id = (parsed.body as { Id?: unknown } | null)?.Id;
    if (typeof id !== "string" || id === "") return createBadRequest("Id is required (string).", "Id");
    const asset = assets.get(id);
    if (!asset) return createUnknownId(`There is no asset ${id}.`, "asset_not_found");
    const at = { origin: exchange.origin, expiresAt: clock.now() + URL_LIFETIME_MS };
    const image = { width: 512, height: 512, prompt: asset.name, seed: id, index: 0 };
    return createJSON({ Id: id, Status: getStatus(id), URL: files.publish(`${id}.png`, image, at) });
  }

  /** Returns the status of an asset, or undefined for an unknown id. */
  function getStatus(id: string): AssetStatus | undefined {
    const asset = assets.get(id);
    if (!asset) return undefined;
    if (clock.now() < asset.readyAt) return "Processing";
    return asset.fails ? "Failed" : "Active";
  }

  function clear() {
    assets.clear();
    count.clear();
  }
}

/** Checks JSON, or a form with the same field names. In a form, `URL` may be a file. */
function checkAsset(exchange: Exchange): Checked<{ readonly Name: string }> {
  const { form, request } = exchange;
  if (form) return validate(exchange, Object.fromEntries(form), checkRequest, "asset");
  if (/^multipart\//i.test(request.headers.get("content-type") ?? ""))
    return { refusal: createBadRequest("The body is not valid multipart/form-data.", "body") };
  const parsed = parseBody(exchange);
  return "refusal" in parsed ? parsed : validate(exchange, parsed.body, checkRequest, "asset");
}
