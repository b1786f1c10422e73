import { GatewayProvider, useChatStream, useImages, useVideoTask } from "@sluice/react";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { createTestClient, until } from "./behaviours/setup.js";

/*
 * The hooks in a page: each component starts its work when it is shown, and shows what came of it.
 */

function Chat() {
  const { messages, send, status } = useChatStream({ model: "delta-5.3" });
  useEffect(() => {
    send("Hello");
  }, [send]);
  const isComplete = status === "ready" && messages.length === 2 && messages[1].outcome === "complete";
  return isComplete ? "done" : status;
}

function Images() {
  const { generate, data, status } = useImages({ model: "gamma-image-4-0-250828" });
  useEffect(() => {
    generate({ prompt: "A lock on a canal", size: "1024x1024" });
  }, [generate]);
  return data?.images[0]?.url ? createElement("img", { src: data.images[0].url, alt: "done" }) : status;
}

function Video() {
  const { create, task, error } = useVideoTask({ intervalMs: 20 });
  useEffect(() => {
    create({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } });
  }, [create]);
  return task?.state === "succeeded" ? "done" : String(error ?? task?.state);
}

const components = { useChatStream: Chat, useImages: Images, useVideoTask: Video };

/** Shows each component until it is done. */
export async function runHooks(setup) {
  const report = [];
  for (const [name, component] of Object.entries(components)) {
    const root = createRoot(document.querySelector("main"));
    root.render(
      createElement(
        GatewayProvider,
        { client: createTestClient(setup) },
        createElement("p", null, createElement(component)),
      ),
    );
    const shown = () => document.querySelector("main p")?.innerHTML ?? "";
    const problem = await until("the page shows what was made", async () => shown().includes("done")).then(
      () => undefined,
      (error) => `${error.message}, it shows: ${shown()}`,
    );
    report.push(problem === undefined ? { name } : { name, problem });
    root.unmount();
  }
  return report;
}
