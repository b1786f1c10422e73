import { useVideoTask } from "@sluice/react";
import { askAbove } from "./prices.ts";

export function Video({ duration }: { duration: number }) {
  const { create, status } = useVideoTask();
  function submit() {
    const input = { prompt: "A reef at dawn" };
    const request = { model: "beta3.0-video", input, parameters: { duration, resolution: "720P" } } as const;
    const question = askAbove(request);
    if (!question || confirm(question)) void create(request);
  }
  return (
    <button type="button" disabled={status === "pending"} onClick={submit}>
      Create
    </button>
  );
}
