import clsx from "clsx";
import type { ComponentProps } from "react";

const looks = {
  primary: "bg-accent text-on-accent hover:brightness-95",
  secondary: "border border-edge/50 bg-raised hover:bg-hover",
  quiet: "text-muted hover:bg-hover hover:text-ink",
  link: "text-accent hover:bg-hover",
  danger: "bg-danger-soft text-danger hover:opacity-90",
};

interface ButtonProps extends ComponentProps<"button"> {
  /** @default "secondary" */
  readonly look?: keyof typeof looks;
}

/** A button with a text, and perhaps an icon before it. */
export function Button({ look = "secondary", className, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={clsx(
        "control inline-flex shrink-0 items-center justify-center gap-2 rounded-lg px-3 text-sm font-medium",
        "transition-colors disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
        looks[look],
        className,
      )}
      {...rest}
    />
  );
}

interface IconButtonProps extends ComponentProps<"button"> {
  /** Name of the button, also its tooltip. */
  readonly label: string;
  /** Keys that do the same, shown in the tooltip: `⌘B`. */
  readonly keys?: string | undefined;
  /** @default "quiet" */
  readonly look?: keyof typeof looks;
}

/** A button that is an icon; `Tooltips` shows its name on hover and focus. */
export function IconButton({
  label,
  keys,
  look = "quiet",
  className,
  type = "button",
  ...rest
}: IconButtonProps) {
  return (
    <button
      type={type}
      aria-label={label}
      data-tip={keys ? `${label}   ${keys}` : label}
      className={clsx(
        "control-square inline-flex shrink-0 items-center justify-center rounded-lg transition-colors",
        "disabled:cursor-not-allowed disabled:opacity-50 aria-pressed:text-ink [&_svg]:size-4.5",
        looks[look],
        className,
      )}
      {...rest}
    />
  );
}

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

interface SkeletonProps {
  /** Size and shape: `h-4 w-40`, `aspect-video`. */
  readonly className?: string;
  /** Name of what is loading. @default hidden from screen readers */
  readonly label?: string;
}

/** Placeholder of something that is still loading. */
export function Skeleton({ className, label }: SkeletonProps) {
  const name = label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label };
  return (
    <div
      {...name}
      className={clsx("animate-pulse rounded-lg border border-transparent bg-hover", className)}
    />
  );
}
