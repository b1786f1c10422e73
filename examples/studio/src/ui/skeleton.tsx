import clsx from "clsx";

interface SkeletonProps {
  /** Size and shape: `h-4 w-40`, `aspect-video`. */
  readonly className?: string;
}

/** Placeholder of something that is still loading. */
export function Skeleton({ className }: SkeletonProps) {
  return <div aria-hidden className={clsx("animate-pulse rounded-lg bg-hover", className)} />;
}
