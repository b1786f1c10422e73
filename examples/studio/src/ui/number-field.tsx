import { NumberField as Base } from "@base-ui/react/number-field";
import { Minus, Plus } from "lucide-react";

interface NumberFieldProps {
  /** Name of the field, for screen readers. A `Field` around it gives one, too. */
  readonly label?: string;
  /** Undefined where the field is empty. */
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  readonly placeholder?: string;
  readonly disabled?: boolean;
}

const stepButton =
  "control-square inline-flex items-center justify-center text-muted hover:bg-hover disabled:opacity-50";

/** A number that may be left out, with buttons for one step. */
export function NumberField({ label, value, onChange, placeholder, ...bounds }: NumberFieldProps) {
  return (
    <Base.Root value={value ?? null} onValueChange={(given) => onChange(given ?? undefined)} {...bounds}>
      <Base.Group className="inline-flex overflow-hidden rounded-lg border border-edge/50 bg-raised">
        <Base.Decrement className={stepButton} aria-label="Less">
          <Minus className="size-4" aria-hidden />
        </Base.Decrement>
        <Base.Input
          aria-label={label}
          placeholder={placeholder}
          className="control field-sizing-content min-w-10 border-x px-2 bg-transparent text-center text-sm tabular-nums -outline-offset-2"
        />
        <Base.Increment className={stepButton} aria-label="More">
          <Plus className="size-4" aria-hidden />
        </Base.Increment>
      </Base.Group>
    </Base.Root>
  );
}
