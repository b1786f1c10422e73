import { createClient, createVideoTask } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { useTaskNotifications } from "@sluice/react/notifications";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";

/* A page that asks for notifications and makes a video, which it does not watch. The service worker sends the report. */

const client = createClient({ baseURL: new URLSearchParams(location.search).get("baseURL") });

function Page() {
  const { mode, error, enable } = useTaskNotifications({ worker: "/push-reports.js" });
  useEffect(() => {
    void enable();
  }, [enable]);
  useEffect(() => {
    // a browser that has just been started may take its time
    if (mode === "page" && error?.name !== "TimeoutError") void fail(error ?? "there is no push");
    if (mode !== "push") return;
    createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef at dawn" } }).catch(fail);
  }, [mode, error]);
}

function fail(error) {
  return fetch("/report", { method: "POST", body: JSON.stringify([{ name: "push", problem: `${error}` }]) });
}

// Firefox never answers a page that asks for a push before it has connected to its service
while (!(await fetch("/push-ready.txt")).ok) await new Promise((resolve) => setTimeout(resolve, 100));
createRoot(document.querySelector("main")).render(
  createElement(GatewayProvider, { client }, createElement(Page)),
);
