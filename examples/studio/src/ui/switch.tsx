import { Switch as Base } from "@base-ui/react/switch";

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
    <label className="control flex items-center justify-between gap-3 text-sm">
      {label}
      <Base.Root
        checked={checked}
        onCheckedChange={(isOn) => onChange(isOn)}
        disabled={disabled}
        className="inline-flex h-5 w-9 shrink-0 rounded-full bg-edge p-0.5 transition-colors data-checked:bg-accent data-disabled:opacity-50"
      >
        <Base.Thumb className="size-4 rounded-full bg-raised transition-transform data-checked:translate-x-4" />
      </Base.Root>
    </label>
  );
}
