import { createClient } from "@sluice/core";
import { createImageStore, describeError } from "@sluice/stores";
import { For, from, Show } from "solid-js";
import { readable } from "./readable";

const client = createClient({ baseURL: "/api" });

export function Image() {
  const images = createImageStore(client, { model: "gamma-image-4-0-250828" });
  const state = from(readable(images));
  const draw = () => images.generate({ prompt: "A lock on a canal" });
  return (
    <>
      <button type="button" disabled={state()?.status === "pending"} onClick={draw}>
        Draw
      </button>
      <For each={state()?.data?.images}>{(image) => <img src={image.url} alt="A lock on a canal" />}</For>
      <Show when={state()?.error}>{(error) => <p role="alert">{describeError(error()).title}</p>}</Show>
    </>
  );
}
