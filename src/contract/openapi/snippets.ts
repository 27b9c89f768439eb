/** An example program that uploads `photo.jpg`, prints its CID, and lists the uploads. */
export interface Snippet {
  readonly language: string
  readonly text: string
}

/** Each program reads the environment variables `HOLDFAST_API` (a URL) and `HOLDFAST_API_KEY`. */
export const SNIPPETS: readonly Snippet[] = [
  {
    language: 'curl',
    text: `curl --fail-with-body -H "X-API-Key: $HOLDFAST_API_KEY" -F file=@photo.jpg "$HOLDFAST_API/files"
curl --fail-with-body -H "X-API-Key: $HOLDFAST_API_KEY" "$HOLDFAST_API/users/me/uploads?limit=10"
`,
  },
  {
    language: 'Python',
    text: `import os, requests

api, key = os.environ["HOLDFAST_API"], os.environ["HOLDFAST_API_KEY"]
session = requests.Session()
session.headers["Authorization"] = f"Bearer {key}"

with open("photo.jpg", "rb") as file:
    answer = session.post(f"{api}/files", files={"file": ("photo.jpg", file)})
answer.raise_for_status()
print(answer.json()["cid"])

for upload in session.get(f"{api}/users/me/uploads", params={"limit": 10}).json()["uploads"]:
    print(upload["cid"], upload["name"])
`,
  },
  {
    language: 'Go',
    text: `package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
)

func main() {
	file, err := os.Open("photo.jpg")
	if err != nil {
		log.Fatal(err)
	}
	body, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() {
		part, err := form.CreateFormFile("file", "photo.jpg")
		if err == nil {
			_, err = io.Copy(part, file)
		}
		if err == nil {
			err = form.Close()
		}
		writer.CloseWithError(err)
	}()
	var uploaded struct{ Cid string }
	call("POST", "/files", form.FormDataContentType(), body, &uploaded)
	fmt.Println(uploaded.Cid)

	var list struct{ Uploads []struct{ Cid, Name string } }
	call("GET", "/users/me/uploads?limit=10", "", nil, &list)
	for _, upload := range list.Uploads {
		fmt.Println(upload.Cid, upload.Name)
	}
}

func call(method, path, contentType string, body io.Reader, into any) {
	request, err := http.NewRequest(method, os.Getenv("HOLDFAST_API")+path, body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("HOLDFAST_API_KEY"))
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(answer.Body)
		log.Fatal(answer.Status, string(text))
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		log.Fatal(err)
	}
}
`,
  },
  {
    language: 'PHP',
    text: `<?php
function call(string $path, array $options = []): array {
    $curl = curl_init(getenv('HOLDFAST_API') . $path);
    curl_setopt_array($curl, $options + [
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . getenv('HOLDFAST_API_KEY')],
    ]);
    $answer = curl_exec($curl);
    if ($answer === false || curl_getinfo($curl, CURLINFO_RESPONSE_CODE) >= 300) {
        throw new RuntimeException($answer === false ? curl_error($curl) : $answer);
    }
    return json_decode($answer, true);
}

$upload = call('/files', [CURLOPT_POSTFIELDS => ['file' => new CURLFile('photo.jpg')]]);
echo $upload['cid'], "\\n";

foreach (call('/users/me/uploads?limit=10')['uploads'] as $upload) {
    echo $upload['cid'], ' ', $upload['name'], "\\n";
}
`,
  },
]
