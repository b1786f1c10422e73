import { NO_PASSWORD } from "../room-words.js";
import { Field, TextInput } from "../ui/fields.js";

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
