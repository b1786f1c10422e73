import clsx from "clsx";
import type { ComponentProps } from "react";

export { Badge, Button, IconButton, onPressOnce, ProgressBar } from "@/components/sluice/button";
export { Tooltips } from "@/components/sluice/tooltips";

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
