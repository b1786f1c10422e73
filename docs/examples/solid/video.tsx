import { createClient } from "@sluice/core";
import { createVideoTaskStore, describeError } from "@sluice/stores";
import { from, Show } from "solid-js";
import { readable } from "./readable";

const client = createClient({ baseURL: "/api" });

export function Video() {
  const video = createVideoTaskStore(client);
  const state = from(readable(video));
  const create = () => video.create({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } });
  return (
    <>
      <button type="button" disabled={state()?.status === "pending"} onClick={create}>
        Create
      </button>
      <Show when={state()?.status === "pending"}>
        <progress value={state()?.progress ?? 0} />
      </Show>
      <Show when={state()?.data}>{(data) => <video src={data().url} controls />}</Show>
      <Show when={state()?.error}>{(error) => <p role="alert">{describeError(error()).title}</p>}</Show>
    </>
  );
}
