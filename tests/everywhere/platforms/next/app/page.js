"use client";

import * as core from "@sluice/core";
import * as media from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import * as stores from "@sluice/stores";
import { useEffect } from "react";
import { runBehaviours } from "../../behaviours/index.js";
import { runHooks } from "../../hooks.js";

/** Runs the behaviours and the hooks in the page, through the route handler, and sends the report. */
export default function Page() {
  useEffect(() => void run(), []);
  return <main />;
}

let isRun = false;

async function run() {
  if (isRun) return;
  isRun = true;
  const { gatewayURL, reportURL } = Object.fromEntries(new URLSearchParams(location.search));
  const setup = { core, stores, media, mediabunny, baseURL: "/api", gatewayURL };
  const report = [...(await runBehaviours(setup)), ...(await runHooks(setup))];
  await fetch(reportURL, { method: "POST", mode: "no-cors", body: JSON.stringify(report) });
}
