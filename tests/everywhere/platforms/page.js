import * as core from "@sluice/core";
import * as media from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import * as stores from "@sluice/stores";
import { runBehaviours } from "./behaviours/index.js";
import { runHooks } from "./hooks.js";

/* The behaviours and the hooks in a page that Vite has built. It sends the report to its own server. */

const { baseURL, gatewayURL } = Object.fromEntries(new URLSearchParams(location.search));
const setup = { core, stores, media, mediabunny, baseURL, gatewayURL };
const report = [...(await runBehaviours(setup)), ...(await runHooks(setup))];
await fetch("/report", { method: "POST", body: JSON.stringify(report) });
