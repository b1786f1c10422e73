import type { Issue } from "@sluice/core";
import type { ReactNode } from "react";
import { Field } from "./field.js";

interface ChoiceProps<Value extends string> {
  readonly name: string;
  readonly value: Value | "";
  readonly values: readonly Value[];
  /** What the empty choice is called, where there is one. */
  readonly none?: string | undefined;
  readonly hint?: ReactNode;
  readonly issues?: readonly Issue[];
  readonly onChange: (value: Value | "") => void;
}

/** One of several. */
export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { name, value, values, none, hint, issues = [], onChange } = props;
  return (
    <Field name={name} hint={hint} issues={issues}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.target.value as Value | "")}>
          {none !== undefined && <option value="">{none}</option>}
          {values.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
