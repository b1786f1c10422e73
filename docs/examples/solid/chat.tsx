import { createClient } from "@sluice/core";
import { createChatStore, describeError } from "@sluice/stores";
import { For, from, Show } from "solid-js";
import { readable } from "./readable";

const client = createClient({ baseURL: "/api" });

export function Chat() {
  const chat = createChatStore(client, { model: "delta-5.3" });
  const state = from(readable(chat));
  return (
    <>
      <For each={state()?.messages}>
        {(message) => (
          <p>
            <b>{message.role}</b> {message.content}
          </p>
        )}
      </For>
      <Show when={state()?.error}>{(error) => <p role="alert">{describeError(error()).title}</p>}</Show>
      <Show
        when={state()?.status === "streaming"}
        fallback={
          <button type="button" onClick={() => chat.send("Why is the sky blue?")}>
            Ask
          </button>
        }
      >
        <button type="button" onClick={chat.stop}>
          Stop
        </button>
      </Show>
    </>
  );
}
