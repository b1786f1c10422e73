import process from "node:process";
import * as core from "@sluice/core";
import * as media from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import * as stores from "@sluice/stores";
import { runBehaviours } from "./behaviours/index.js";

/*
 * The behaviours in a process of Node, Deno or Bun: `command.js <baseURL> <gatewayURL>`. Prints the report as JSON.
 */

const [baseURL = "", gatewayURL = ""] = process.argv.slice(2);
console.log(JSON.stringify(await runBehaviours({ core, stores, media, mediabunny, baseURL, gatewayURL })));
