"use client";

import type { ComponentProps, KeyboardEvent, MouseEvent } from "react";
import { cn } from "@/lib/utils";

const variants = {
  primary: "bg-primary text-primary-foreground hover:brightness-95",
  secondary: "border border-input bg-card hover:bg-secondary",
  quiet: "text-muted-foreground hover:bg-secondary hover:text-foreground",
  danger: "bg-destructive/10 text-destructive hover:opacity-90",
};

interface ButtonProps extends ComponentProps<"button"> {
  /** @default "secondary" */
  readonly variant?: keyof typeof variants;
}

/** A button with a text, and perhaps an icon before it. A finger gets at least 44 × 44 px. */
export function Button({ variant = "secondary", className, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={cn(
        "inline-flex min-h-8 shrink-0 cursor-pointer items-center justify-center gap-2 rounded-lg px-3 text-sm font-medium",
        "pointer-coarse:min-h-11 pointer-coarse:min-w-11",
        "transition-colors disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
        variants[variant],
        className,
      )}
      {...rest}
    />
  );
}

/** Handlers of a button that may cost something: a double click, and a key that is held, press it once. */
export function onPressOnce(press: () => void) {
  return {
    onClick({ detail }: MouseEvent) {
      if (detail < 2) press();
    },
    onKeyDown(event: KeyboardEvent) {
      if (event.repeat && event.key === "Enter") event.preventDefault();
    },
  };
}

interface IconButtonProps extends ComponentProps<"button"> {
  /** Name of the button; `Tooltips` shows it on hover and focus. */
  readonly label: string;
  /** Keys that do the same, shown in the tooltip: `⌘B`. */
  readonly keys?: string | undefined;
  /** @default "quiet" */
  readonly variant?: keyof typeof variants;
}

/** A button that is an icon. */
export function IconButton({
  label,
  keys,
  variant = "quiet",
  className,
  type = "button",
  ...rest
}: IconButtonProps) {
  return (
    <button
      type={type}
      aria-label={label}
      data-tip={keys ? `${label}   ${keys}` : label}
      className={cn(
        "inline-flex size-8 shrink-0 cursor-pointer items-center justify-center rounded-lg transition-colors",
        "disabled:cursor-not-allowed disabled:opacity-50 aria-pressed:text-foreground pointer-coarse:size-11 [&_svg]:size-4.5",
        variants[variant],
        className,
      )}
      {...rest}
    />
  );
}

interface ChipProps extends ComponentProps<"button"> {
  /** True if it is the selected one of several choices. */
  readonly isPressed?: boolean;
}

/** A small choice or suggestion. */
export function Chip({ isPressed, className, type = "button", ...rest }: ChipProps) {
  return (
    <button
      type={type}
      aria-pressed={isPressed}
      className={cn(
        "inline-flex min-h-8 shrink-0 cursor-pointer items-center gap-1.5 rounded-full border px-3 text-sm transition-colors",
        "pointer-coarse:min-h-11 pointer-coarse:min-w-11 disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4",
        isPressed
          ? "border-primary bg-primary/10 text-foreground"
          : "border-input bg-card hover:bg-secondary",
        className,
      )}
      {...rest}
    />
  );
}

const tones = {
  neutral: "bg-secondary text-muted-foreground",
  info: "bg-info/10 text-info",
  success: "bg-success/10 text-success",
  warn: "bg-warning/10 text-warning",
  danger: "bg-destructive/10 text-destructive",
};

interface BadgeProps extends ComponentProps<"span"> {
  /** @default "neutral" */
  readonly tone?: keyof typeof tones;
}

/** A word about the state of something; it can't be pressed. */
export function Badge({ tone = "neutral", className, ...rest }: BadgeProps) {
  return (
    <span
      className={cn(
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
  /** Name of the loading content. @default hidden from screen readers */
  readonly label?: string;
}

/** Placeholder of something that is still loading. */
export function Skeleton({ className, label }: SkeletonProps) {
  const name = label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label };
  return (
    <div
      {...name}
      className={cn("animate-pulse rounded-lg border border-transparent bg-secondary", className)}
    />
  );
}
