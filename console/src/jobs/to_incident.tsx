import { open } from "../shell/route";

/** From what is slow to the open incident that explains it: one cause has one story. */
export function ToIncident({ subject }: { subject: string }) {
  return (
    <>
      {" "}
      <button type="button" class="link" onClick={() => open("incidents", subject)}>
        Show the incident
      </button>
    </>
  );
}
