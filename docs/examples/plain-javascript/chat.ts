import { createClient } from "@sluice/core";
import { createChatStore, describeError, indexedDBStorage } from "@sluice/stores";

const chat = createChatStore(createClient({ baseURL: "/api" }), {
  id: "support",
  model: "delta-5.3",
  storage: indexedDBStorage(),
});
const list = document.querySelector("#messages") as HTMLElement;
const form = document.querySelector("form") as HTMLFormElement;
const shown = new Map<string, { readonly item: HTMLElement; message: object }>();

function show() {
  const { messages, error } = chat.getSnapshot();
  for (const message of messages) {
    const known = shown.get(message.id) ?? {
      item: list.appendChild(document.createElement("p")),
      message: {},
    };
    // an unchanged message is the same object: only the response that streams is written again
    if (known.message !== message) known.item.textContent = `${message.role}: ${message.content}`;
    shown.set(message.id, { ...known, message });
  }
  (document.querySelector("#error") as HTMLElement).textContent = error ? describeError(error).title : "";
}

chat.subscribe(show);
show();
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { status } = chat.getSnapshot();
  if (status === "submitted" || status === "streaming") return; // the text stays until it can be sent
  void chat.send(String(new FormData(form).get("message")));
  form.reset();
});
