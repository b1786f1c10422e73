import type { AssumptionName } from "@sluice/emulator/assumptions";
import type { Plan, Row } from "./diagnose.js";
import type { Exchanges } from "./probes.js";

/** Settings of `createClient` that fit the server. */
export interface Settings {
  readonly baseURL: string;
  readonly gateway?: { readonly includeUsage?: boolean; readonly assetLookup?: string };
  readonly retry?: { readonly limit: number };
  readonly idempotencyKeys?: boolean;
}

/** Chooses the settings that follow from the rows of the report. */
export function chooseSettings(
  { address, origins }: Plan,
  exchanges: Partial<Exchanges>,
  rows: readonly Row[],
): Settings {
  const verdict = (wanted: AssumptionName) => rows.find(({ name }) => name === wanted)?.verdict;
  const usage = verdict("usage-option");
  const gateway = {
    ...(usage === "differs" && { includeUsage: false }),
    ...(usage === "holds" && verdict("usage-reported") === "holds" && { includeUsage: true }),
    ...(verdict("asset-lookup") === "holds" && { assetLookup: "/gamma/asset/GetAsset" }),
  };
  const refusesKeys = origins.some((origin) => {
    const headers = exchanges[`preflight ${origin}`]?.headers;
    const isAllowed = headers?.get("access-control-allow-origin") === origin;
    return isAllowed && !/idempotency-key|\*/i.test(headers?.get("access-control-allow-headers") ?? "");
  });
  return {
    baseURL: address,
    ...(Object.keys(gateway).length > 0 && { gateway }),
    ...(verdict("invalid-request") === "differs" && { retry: { limit: 0 } }),
    ...(refusesKeys && { idempotencyKeys: false }),
  };
}
