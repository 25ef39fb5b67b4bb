import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TaskEvent;
import com.sun.source.util.TaskListener;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import javax.lang.model.element.Modifier;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.ForwardingJavaFileObject;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * One Java program into one jar, in one virtual machine: javac and jar as programs would each start their own.
 *
 * <p>{@code Compile JAR ENTRY FILE...}: the .java files are compiled, .jar files are their class path.
 */
public final class Compile {
	/** What javac makes stays in memory until it is put into the jar. */
	private static final class Classes extends ForwardingJavaFileManager<JavaFileManager> {
		final Map<String, ByteArrayOutputStream> made = new LinkedHashMap<>();

		Classes(JavaFileManager manager) {
			super(manager);
		}

		@Override
		public JavaFileObject getJavaFileForOutput(
				Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
			String path = name.replace('.', '/') + kind.extension;
			return new SimpleJavaFileObject(URI.create("memory:///" + path.replace("$", "%24")), kind) {
				@Override
				public OutputStream openOutputStream() {
					ByteArrayOutputStream bytes = new ByteArrayOutputStream(4096);
					made.put(path, bytes);
					return bytes;
				}
			};
		}

		/** javac asks in a program with a module-info.java, and its own manager knows only files of its own. */
		@Override
		public boolean contains(Location location, FileObject file) throws IOException {
			return super.contains(location, file instanceof Entry ? ((Entry) file).file() : file);
		}
	}

	/** The code file may hold a public class of any name: its own name was perhaps not the author's choice. */
	private static final class Entry extends ForwardingJavaFileObject<JavaFileObject> {
		Entry(JavaFileObject file) {
			super(file);
		}

		JavaFileObject file() {
			return fileObject;
		}

		@Override
		public boolean isNameCompatible(String name, Kind kind) {
			return kind == Kind.SOURCE;
		}
	}

	/** Looks for the class to start among what was parsed. */
	private static final class MainClass implements TaskListener {
		private final JavaFileObject entry;
		private final String stem;
		private String best;
		private int rank = -1;

		MainClass(JavaFileObject entry, String stem) {
			this.entry = entry;
			this.stem = stem;
		}

		@Override
		public void finished(TaskEvent event) {
			if (event.getKind() != TaskEvent.Kind.PARSE) return;
			CompilationUnitTree unit = event.getCompilationUnit();
			String prefix = unit.getPackageName() == null ? "" : unit.getPackageName() + ".";
			for (Tree type : unit.getTypeDecls())
				if (type instanceof ClassTree)
					consider((ClassTree) type, prefix, event.getSourceFile() == entry);
		}

		/** A main method counts most, then to be in the code file, then to have its name, then to be public. */
		private void consider(ClassTree type, String prefix, boolean inEntry) {
			String name = type.getSimpleName().toString();
			int points = mainMethod(type) * 8 + (inEntry ? 4 : 0);
			if (name.equals(stem)) points += 2;
			if (type.getModifiers().getFlags().contains(Modifier.PUBLIC)) points += 1;
			if (points > rank) {
				rank = points;
				best = prefix + name;
			}
		}

		/** 2: one that every Java starts, 1: one that only newer ones do, 0: none. */
		private static int mainMethod(ClassTree type) {
			int found = 0;
			for (Tree member : type.getMembers()) {
				if (!(member instanceof MethodTree)) continue;
				MethodTree method = (MethodTree) member;
				if (!method.getName().contentEquals("main")) continue;
				boolean isStatic = method.getModifiers().getFlags().contains(Modifier.STATIC)
						|| type.getKind() == Tree.Kind.INTERFACE;
				found = Math.max(found, isStatic && method.getParameters().size() == 1 ? 2 : 1);
			}
			return found;
		}

		String name() {
			return best == null ? stem : best;
		}
	}

	private static void add(ZipOutputStream jar, String name, byte[] content) throws IOException {
		ZipEntry entry = new ZipEntry(name);
		CRC32 sum = new CRC32();
		sum.update(content);
		entry.setMethod(ZipEntry.STORED);
		entry.setSize(content.length);
		entry.setCrc(sum.getValue());
		entry.setTime(0);
		jar.putNextEntry(entry);
		jar.write(content);
	}

	/** A line of a manifest has at most 72 bytes; the next begins with a space. */
	private static String header(String name, String value) {
		byte[] line = (name + ": " + value).getBytes(StandardCharsets.UTF_8);
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		for (int at = 0; at < line.length; at += 70) {
			if (at > 0) out.writeBytes(new byte[] {'\n', ' '});
			out.write(line, at, Math.min(70, line.length - at));
		}
		return out.toString(StandardCharsets.UTF_8) + "\n";
	}

	private static void write(Path to, String main, List<Path> jars, Classes classes) throws IOException {
		// The directory of the code is there for resources, as it would be with "java -cp .".
		StringBuilder path = new StringBuilder("file:/sandbox/code/");
		for (Path jar : jars) path.append(' ').append(jar.toUri());
		String manifest = "Manifest-Version: 1.0\n"
				+ header("Main-Class", main)
				+ header("Class-Path", path.toString());
		// Not compressed: it is read once, by a machine beside the one that wrote it.
		try (OutputStream file = new BufferedOutputStream(Files.newOutputStream(to), 1 << 16);
				ZipOutputStream jar = new ZipOutputStream(file)) {
			add(jar, "META-INF/MANIFEST.MF", manifest.getBytes(StandardCharsets.UTF_8));
			for (Map.Entry<String, ByteArrayOutputStream> made : classes.made.entrySet())
				add(jar, made.getKey(), made.getValue().toByteArray());
		}
	}

	/** Where the packages of a project begin, by the code file's place and its package. */
	private static Path root(Path entry) throws IOException {
		Path directory = entry.toAbsolutePath().getParent();
		String text = new String(Files.readAllBytes(entry), StandardCharsets.UTF_8);
		Matcher matcher = Pattern.compile("^\\s*package\\s+([\\w.]+)\\s*;", Pattern.MULTILINE).matcher(text);
		if (!matcher.find()) return directory;
		Path packages = Path.of(matcher.group(1).replace('.', '/'));
		if (!directory.endsWith(packages)) return directory;
		for (int i = packages.getNameCount(); i > 0; i--) directory = directory.getParent();
		return directory;
	}

	private static boolean compile(Path to, Path entry, List<Path> sources, List<Path> jars) throws IOException {
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		try (StandardJavaFileManager files =
				compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
			files.setLocationFromPaths(StandardLocation.CLASS_PATH, jars);
			files.setLocationFromPaths(StandardLocation.SOURCE_PATH, List.of(root(entry)));
			Classes classes = new Classes(files);
			JavaFileObject first = new Entry(files.getJavaFileObjects(entry).iterator().next());
			List<JavaFileObject> units = new ArrayList<>(List.of(first));
			for (JavaFileObject file : files.getJavaFileObjectsFromPaths(sources)) units.add(file);

			String stem = entry.getFileName().toString().replaceFirst("\\.[^.]*$", "");
			MainClass main = new MainClass(first, stem);
			List<String> options = List.of("-proc:none", "-g");
			JavacTask task = (JavacTask) compiler.getTask(null, classes, null, options, null, units);
			task.addTaskListener(main);
			if (!task.call()) return false;
			write(to, main.name(), jars, classes);
			return true;
		}
	}

	public static void main(String[] args) throws IOException {
		Path here = Path.of("").toAbsolutePath();
		Path entry = here.relativize(Path.of(args[1]).toAbsolutePath());
		List<Path> sources = new ArrayList<>(), jars = new ArrayList<>();
		for (int i = 2; i < args.length; i++) {
			Path path = Path.of(args[i]).toAbsolutePath();
			Path near = here.relativize(path);
			if (args[i].endsWith(".jar")) jars.add(path);
			else if (!near.equals(entry)) sources.add(near);
		}
		System.exit(compile(Path.of(args[0]), entry, sources, jars) ? 0 : 1);
	}

	private Compile() {}
}
