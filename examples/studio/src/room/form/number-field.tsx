import type { Issue } from "@sluice/core";
import type { ReactNode } from "react";
import { Field } from "./field.js";

interface NumberFieldProps {
  readonly name: string;
  /** As it was typed: what is no number is said to be none, and not swallowed. */
  readonly value: string;
  /** Screens that show a keyboard show one with a point. */
  readonly isFraction?: boolean;
  readonly hint?: ReactNode;
  readonly issues?: readonly Issue[];
  readonly onChange: (value: string) => void;
}

/** A number that may be left out. */
export function NumberField({
  name,
  value,
  isFraction = false,
  hint,
  issues = [],
  onChange,
}: NumberFieldProps) {
  return (
    <Field name={name} hint={hint} issues={issues}>
      {(control) => (
        <input
          {...control}
          type="text"
          inputMode={isFraction ? "decimal" : "numeric"}
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** What was typed, as a request has it: left out, a number, or the text itself, which no model takes. */
export function numberOf(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const number = Number(trimmed);
  return Number.isNaN(number) ? trimmed : number;
}
