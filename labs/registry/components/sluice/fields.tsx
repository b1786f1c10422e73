"use client";

import { Field as BaseField } from "@base-ui/react/field";
import { NumberField as BaseNumber } from "@base-ui/react/number-field";
import { Slider as BaseSlider } from "@base-ui/react/slider";
import { Switch as BaseSwitch } from "@base-ui/react/switch";
import { Minus, Plus } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { numberWords } from "@/components/sluice/form-words";
import { cn } from "@/lib/utils";

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
    <BaseField.Root invalid={issues.length > 0} className="flex flex-col gap-1">
      <BaseField.Label className="text-sm font-medium">{label}</BaseField.Label>
      {children}
      {hint && (
        <BaseField.Description className="text-xs text-muted-foreground">{hint}</BaseField.Description>
      )}
      {issues.map((issue) => (
        <BaseField.Error key={issue} match className="text-xs text-destructive">
          {issue}
        </BaseField.Error>
      ))}
    </BaseField.Root>
  );
}

const box =
  "min-h-8 pointer-coarse:min-h-11 pointer-coarse:min-w-11 w-full rounded-lg border border-input bg-card px-3 text-sm data-invalid:border-destructive disabled:opacity-50";

/** A line of text. */
export function TextInput({ className, ...rest }: ComponentProps<typeof BaseField.Control>) {
  return <BaseField.Control className={cn(box, className)} {...rest} />;
}

/** Several lines of text; it grows with them. */
export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  return (
    <BaseField.Control
      render={
        <textarea
          className={cn(box, "field-sizing-content min-h-20 resize-none py-2", className)}
          {...rest}
        />
      }
    />
  );
}

interface NumberFieldProps {
  /** Undefined where the field is empty. */
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  readonly placeholder?: string;
}

const stepButton =
  "inline-flex size-8 pointer-coarse:size-11 items-center justify-center text-muted-foreground hover:bg-secondary disabled:opacity-50";

/** An optional number, with buttons for one step. A `Field` around it provides its name. */
export function NumberField(props: NumberFieldProps) {
  const { value, onChange, placeholder, ...bounds } = props;
  return (
    <BaseNumber.Root
      value={value ?? null}
      onValueChange={(given) => onChange(given ?? undefined)}
      {...bounds}
    >
      <BaseNumber.Group className="inline-flex overflow-hidden rounded-lg border border-input bg-card">
        <BaseNumber.Decrement className={stepButton} aria-label={numberWords.less}>
          <Minus className="size-4" aria-hidden />
        </BaseNumber.Decrement>
        <BaseNumber.Input
          placeholder={placeholder}
          className="min-h-8 pointer-coarse:min-h-11 pointer-coarse:min-w-11 field-sizing-content min-w-11 border-x px-2 bg-transparent text-center text-sm tabular-nums -outline-offset-2"
        />
        <BaseNumber.Increment className={stepButton} aria-label={numberWords.more}>
          <Plus className="size-4" aria-hidden />
        </BaseNumber.Increment>
      </BaseNumber.Group>
    </BaseNumber.Root>
  );
}

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  /** @default 1 */
  readonly step?: number;
  /** Writes the value, for people: `5 s`. */
  readonly format?: (value: number) => string;
  readonly onChange: (value: number) => void;
}

/** A number within bounds. */
export function Slider(props: SliderProps) {
  const { label, value, min, max, step = 1, format = String, onChange } = props;
  return (
    <BaseSlider.Root value={value} min={min} max={max} step={step} onValueChange={onChange}>
      <div className="flex justify-between text-sm">
        <BaseSlider.Label>{label}</BaseSlider.Label>
        <BaseSlider.Value className="text-muted-foreground tabular-nums">
          {() => format(value)}
        </BaseSlider.Value>
      </div>
      <BaseSlider.Control className="min-h-8 pointer-coarse:min-h-11 pointer-coarse:min-w-11 flex touch-none items-center">
        <BaseSlider.Track className="h-1 w-full rounded-full bg-border">
          <BaseSlider.Indicator className="rounded-full bg-primary" />
          <BaseSlider.Thumb
            getAriaValueText={() => format(value)}
            className="size-4 rounded-full border-2 border-primary bg-card has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-primary"
          />
        </BaseSlider.Track>
      </BaseSlider.Control>
    </BaseSlider.Root>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

/** Something that is on or off, with its name before it. */
export function Switch({ label, checked, onChange, disabled = false }: SwitchProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the switch inside is the control
    <label className="min-h-8 pointer-coarse:min-h-11 pointer-coarse:min-w-11 flex items-center justify-between gap-3 text-sm">
      {label}
      <BaseSwitch.Root
        checked={checked}
        onCheckedChange={(isOn) => onChange(isOn)}
        disabled={disabled}
        className="inline-flex h-5 w-9 shrink-0 rounded-full bg-muted-foreground/70 p-0.5 transition-colors data-checked:bg-primary data-disabled:opacity-50"
      >
        <BaseSwitch.Thumb className="size-4 rounded-full bg-card transition-transform data-checked:translate-x-4" />
      </BaseSwitch.Root>
    </label>
  );
}
