import { joinConversation } from "@sluice/core/remote";
import { describeError } from "@sluice/react/app";
import type { SubmitEvent } from "react";
import { NO_PASSWORD, shareWords } from "../room-words.js";
import { Button } from "../ui/button.js";
import { Field, TextInput } from "../ui/fields.js";
import { addressOf, openDevice } from "./device-client.js";
import { useAction } from "./use-action.js";

/** The page behind a link: signs in by another name, joins the chat, and opens it. */
export function Join() {
  const { isBusy, error, run } = useAction();
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const user = String(new FormData(event.currentTarget).get("name"));
    run(async () => {
      const { id } = await joinConversation(openDevice(user, "guest").client, location.hash.slice(1));
      location.replace(addressOf(user, "guest", id));
    });
  }
  return (
    <form onSubmit={submit} className="m-auto flex w-full max-w-sm flex-col gap-4 p-4">
      <h1>{shareWords.intro}</h1>
      <NameField suggestion="bob" />
      <Button type="submit" look="primary" disabled={isBusy}>
        {shareWords.join}
      </Button>
      {error && <p role="alert">{describeError(error).title}</p>}
    </form>
  );
}

/** The name of a user, who is believed. */
export function NameField({ suggestion }: { readonly suggestion: string }) {
  return (
    <Field label="Name" hint={NO_PASSWORD}>
      <TextInput
        name="name"
        defaultValue={suggestion}
        required
        pattern="[\w.\-]+"
        maxLength={30}
        autoComplete="off"
      />
    </Field>
  );
}
