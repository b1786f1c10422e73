import clsx from "clsx";
import type { ComponentProps } from "react";

interface ChipProps extends ComponentProps<"button"> {
  /** Says whether it is chosen, where it is one of several choices. */
  readonly isPressed?: boolean;
}

/** A small choice or suggestion. */
export function Chip({ isPressed, className, type = "button", ...rest }: ChipProps) {
  return (
    <button
      type={type}
      aria-pressed={isPressed}
      className={clsx(
        "control inline-flex shrink-0 items-center gap-1.5 rounded-full border px-3 text-sm transition-colors",
        "disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4",
        isPressed ? "border-accent bg-accent-soft text-ink" : "border-edge/50 bg-raised hover:bg-hover",
        className,
      )}
      {...rest}
    />
  );
}

const tones = {
  neutral: "bg-hover text-muted",
  accent: "bg-accent-soft text-accent",
  warn: "bg-warn-soft text-warn",
  danger: "bg-danger-soft text-danger",
};

interface BadgeProps extends ComponentProps<"span"> {
  /** @default "neutral" */
  readonly tone?: keyof typeof tones;
}

/** A word about the state of something; it can't be pressed. */
export function Badge({ tone = "neutral", className, ...rest }: BadgeProps) {
  return (
    <span
      className={clsx(
        "inline-flex shrink-0 items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium [&_svg]:size-3.5",
        tones[tone],
        className,
      )}
      {...rest}
    />
  );
}
