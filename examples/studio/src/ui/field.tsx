import { Field as Base } from "@base-ui/react/field";
import clsx from "clsx";
import type { ComponentProps, ReactNode } from "react";

interface FieldProps {
  readonly label: string;
  /** One short sentence of help. */
  readonly hint?: string | undefined;
  /** Problems of the value, in words for people. The control is marked as wrong while there are any. */
  readonly issues?: readonly string[] | undefined;
  readonly children: ReactNode;
}

/** A control with its label, help and problems: a `TextInput`, `TextArea`, `Select` or `NumberField`. */
export function Field({ label, hint, issues = [], children }: FieldProps) {
  return (
    <Base.Root invalid={issues.length > 0} className="flex flex-col gap-1">
      <Base.Label className="text-sm font-medium">{label}</Base.Label>
      {children}
      {hint && <Base.Description className="text-xs text-muted">{hint}</Base.Description>}
      {issues.map((issue) => (
        <Base.Error key={issue} match className="text-xs text-danger">
          {issue}
        </Base.Error>
      ))}
    </Base.Root>
  );
}

const box =
  "control w-full rounded-lg border border-edge/60 bg-raised px-3 text-sm data-invalid:border-danger disabled:opacity-50";

/** A line of text. */
export function TextInput({ className, ...rest }: ComponentProps<typeof Base.Control>) {
  return <Base.Control className={clsx(box, className)} {...rest} />;
}

/** Several lines of text; it grows with them. */
export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  return (
    <Base.Control
      render={
        <textarea
          className={clsx(box, "field-sizing-content min-h-20 resize-none py-2", className)}
          {...rest}
        />
      }
    />
  );
}
