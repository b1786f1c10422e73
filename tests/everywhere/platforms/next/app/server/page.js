import * as core from "@sluice/core";
import * as media from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import * as stores from "@sluice/stores";
import { runBehaviours } from "../../../behaviours/index.js";

export const dynamic = "force-dynamic";

/** Runs the behaviours in a Server Component, and renders the report. */
export default async function Page() {
  const gatewayURL = process.env.GATEWAY_URL;
  const report = await runBehaviours({ core, stores, media, mediabunny, baseURL: gatewayURL, gatewayURL });
  return <pre>{encodeURIComponent(JSON.stringify(report))}</pre>;
}
