import { ask } from "../live/session";

/** The incident as a Markdown file. */
export function PostMortem({ id }: { id: string }) {
  return (
    <a href={ask().postMortem(id)} download={`post-mortem-${id.replace(/[^\w.-]+/g, "-")}.md`}>
      Post-mortem
    </a>
  );
}
