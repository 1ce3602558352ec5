package httpapi_test

import "testing"

// Words that stand in the place of a project's id in routes that are not served
// are no projects: nothing is there, whatever the method.
func TestWordsBelowProjectAreNoProjects(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, word := range []string{"actions", "grants", "task", "task-queue"} {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
			for _, below := range []string{"", "/rename"} {
				got := s.do(method, "/management/v1/project/"+word+below, `{"new-name":"x"}`)
				refused(t, got, 404, "BadRequestException")
				if allow := got.header.Get("Allow"); allow != "" {
					t.Errorf("%s %s%s: allows %s", method, word, below, allow)
				}
			}
		}
		refused(t, s.do("POST", "/management/v1/project", `{"project-name":"p","project-id":"`+word+`"}`), 400, "BadRequestException")
	}
	refused(t, s.do("GET", "/management/v1/project/rename", ""), 405, "BadRequestException")
	refused(t, s.do("POST", "/management/v1/project/nobody", ""), 405, "BadRequestException")
}
