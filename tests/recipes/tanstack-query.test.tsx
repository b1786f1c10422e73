import { GatewayProvider } from "@sluice/react";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { fireEvent, render, screen } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import { openGateway } from "./gateway.ts";

/* The components of the recipe "TanStack Query", with its newest hooks. */

const files = writeFilesOfPage("docs/recipes/tanstack-query.md");
let gateway: ReturnType<typeof openGateway>;
beforeEach(() => {
  gateway = openGateway();
});
afterEach(() => void vi.useRealTimers());

function show(Page: FunctionComponent<{ text: string }>, text = "") {
  // the timers of mutations would run for minutes, and `clear` does not stop them
  const queries = new QueryClient({ defaultOptions: { mutations: { gcTime: Number.POSITIVE_INFINITY } } });
  onTestFinished(() => queries.clear());
  const page = (
    <QueryClientProvider client={queries}>
      <GatewayProvider client={gateway.client}>
        <Page text={text} />
      </GatewayProvider>
    </QueryClientProvider>
  );
  return render(page);
}

/** Requests of a method that the gateway has got. */
const sent = (wanted: string) => gateway.emulator.requests.filter(({ method }) => method === wanted);

test("a video is created once, polled, and shown", async () => {
  const { Videos } = await files<{ Videos: FunctionComponent }>("videos.tsx");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { container } = show(Videos);
  fireEvent.click(screen.getByRole("button", { name: "Create" }));
  const look = async () => {
    await vi.advanceTimersByTimeAsync(10_000);
    return container.querySelector("video")?.src;
  };
  await expect.poll(look).toMatch(/^https.*mp4/);
  const { length } = sent("GET");
  await vi.advanceTimersByTimeAsync(60_000);
  expect([sent("POST").length, sent("GET").length]).toEqual([1, length]);
});

test("a response is one request, for two components that show it", async () => {
  const { Summary } = await files<{ Summary: FunctionComponent<{ text: string }> }>("summary.tsx");
  const Twice = ({ text }: { text: string }) => (
    <>
      <Summary text={text} />
      <Summary text={text} />
    </>
  );
  const { container } = show(Twice, "The Elbe rises in the Giant Mountains.");
  await expect.poll(() => container.textContent?.length).toBeGreaterThan(40);
  expect(sent("POST")).toHaveLength(1);
});
