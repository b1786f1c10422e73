import { Slider as Base } from "@base-ui/react/slider";

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
  readonly disabled?: boolean;
}

/** A number within bounds. */
export function Slider(props: SliderProps) {
  const { label, value, min, max, step = 1, format = String, onChange, disabled = false } = props;
  return (
    <Base.Root value={value} min={min} max={max} step={step} disabled={disabled} onValueChange={onChange}>
      <div className="flex justify-between text-sm">
        <Base.Label>{label}</Base.Label>
        <Base.Value className="text-muted tabular-nums">{() => format(value)}</Base.Value>
      </div>
      <Base.Control className="control flex touch-none items-center">
        <Base.Track className="h-1 w-full rounded-full bg-line">
          <Base.Indicator className="rounded-full bg-accent" />
          <Base.Thumb
            getAriaValueText={() => format(value)}
            className="size-4 rounded-full border-2 border-accent bg-raised has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
          />
        </Base.Track>
      </Base.Control>
    </Base.Root>
  );
}
