import type { Issue } from "@sluice/core";
import type { ReactNode } from "react";
import { Field } from "./field.js";

interface TextFieldProps {
  readonly name: string;
  readonly value: string;
  readonly hint?: ReactNode;
  readonly issues?: readonly Issue[];
  readonly onChange: (value: string) => void;
}

/** One line of text. */
export function TextField({ name, value, hint, issues = [], onChange }: TextFieldProps) {
  return (
    <Field name={name} hint={hint} issues={issues}>
      {(control) => (
        <input
          {...control}
          type="text"
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
